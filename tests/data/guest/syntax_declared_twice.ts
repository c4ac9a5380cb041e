const rows = 1;
const total = 2;
const rows = 3;
