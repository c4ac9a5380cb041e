const thoughts = ["What is asked?", "What is known?", "So what follows?"];
let revised = 0;
for (let i = 0; i < thoughts.length; i++) {
  const args = { thought: thoughts[i], thoughtNumber: i + 1, totalThoughts: thoughts.length, nextThoughtNeeded: i < thoughts.length - 1 };
  const step = await mux.thinking.sequentialthinking(i === 2 ? { ...args, isRevision: true, revisesThought: 1 } : args);
  if (step.nextThoughtNeeded === false) revised = step.thoughtNumber;
}
const branch = await mux.thinking.sequentialthinking({
  thought: "or otherwise", thoughtNumber: 4, totalThoughts: 5, nextThoughtNeeded: false, branchFromThought: 2, branchId: "other",
});
return { revised, branched: branch.branches.includes("other"), history: branch.thoughtHistoryLength >= 4 };
