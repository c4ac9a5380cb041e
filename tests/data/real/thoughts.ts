// Three thoughts, each of which builds on the server's memory of those before.
const thoughts = ["What do we know?", "What follows from it?", "What do we do?"];
const lengths = [];
for (const [index, thought] of thoughts.entries()) {
  const step = await mux.thinking.sequentialthinking({
    thought,
    thoughtNumber: index + 1,
    totalThoughts: thoughts.length,
    nextThoughtNeeded: index + 1 < thoughts.length,
  });
  lengths.push(step.thoughtHistoryLength);
  console.log(`thought ${step.thoughtNumber} of ${step.totalThoughts}, ${step.nextThoughtNeeded ? "more" : "done"}`);
}
return lengths;
