class Tally {
  #counts = new Map<string, number>();
  static separator = ", ";
  readonly started = Date.now();
  label;

  constructor(label = "tally") {
    this.label = label;
  }

  add(key: string, by = 1): this {
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + by);
    return this;
  }

  get size() {
    return this.#counts.size;
  }

  toString() {
    return `${this.label}: ` + [...this.#counts].map(([k, n]) => `${k}=${n}`).sort().join(Tally.separator);
  }
}

class LogTally extends Tally {
  addLine(line: string) {
    const level = line.split(" ")[1];
    return level ? this.add(level) : this;
  }
}

const tally = new LogTally("levels");
const { content } = await mux.files.read_text_file({ path: `${mux.input.dir}/logs/app.log` });
content.split("\n").forEach((line) => tally.addLine(line));
return { text: `${tally}`, size: tally.size, recent: tally.started <= Date.now() };
