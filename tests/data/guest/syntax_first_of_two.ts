let a = ;
const ok = 1;
let b = 2 +;
