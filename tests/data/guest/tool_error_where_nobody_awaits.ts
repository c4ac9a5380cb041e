const rows = [1, 2];
const results = rows.map((row) => row === 1 ? mux.fix.echo({ text: "x" }) : undefined);
void results;
return mux.fix.fail({ message: "the last statement needs no await" });
