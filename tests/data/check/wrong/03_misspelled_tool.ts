// mistake: line 6, column 39: the tool is `read_text_file`
// says: read_textfile, read_text_file
interface Config { name: string; version: string }

async function load(name: string): Promise<Config> {
  const { content } = await mux.files.read_textfile({ path: `${mux.input.dir}/${name}` });
  return JSON.parse(content) as Config;
}

const config = await load("config.json");
return `${config.name}@${config.version}`;
