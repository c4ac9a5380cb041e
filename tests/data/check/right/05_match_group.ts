const info = await mux.files.get_file_info({ path: `${mux.input.dir}/sales.csv` });
const size = Number(info.content.match(/size: (\d+)/)[1]);
const isFile = info.content.match(/isFile: (true|false)/)[1] === "true";
const permissions = /permissions: (?<mode>\d{3})/.exec(info.content).groups.mode;
return { size, isFile, permissions };
