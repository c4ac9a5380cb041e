const a = 1;
const text = `never closed ${a};
return text;
