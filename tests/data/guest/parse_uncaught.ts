const text = "id: 1\nname: [open";
const value = mux.$parse(text);
return value;
