const a = 1;
const text = "never closed;
return text;
