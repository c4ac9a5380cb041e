interface Person {
  id: number;
  name: string;
  age: number;
  team: string;
  email?: string;
  manager: number | null;
  tags: string[];
}

interface TeamSummary {
  team: string;
  members: string[];
  averageAge: number;
}

const { dir } = mux.input as { dir: string };
const { content } = await mux.files.read_text_file({ path: `${dir}/people.json` });
const people: Person[] = JSON.parse(content);

function summarize(team: string, members: Person[]): TeamSummary {
  const total = members.reduce((sum, member) => sum + member.age, 0);
  return { team, members: members.map((m) => m.name), averageAge: total / members.length };
}

const teams = new Set(people.map((p) => p.team));
const result: TeamSummary[] = [...teams].map((team) =>
  summarize(team, people.filter((p) => p.team === team)),
);
return result;
