// The run after each case sees virgin globals; this one soils them all.
// must: result "soiled"
globalThis.left = 1;
Object.prototype.left = 1;
Array.prototype.left = 1;
delete Array.prototype.map;
Promise.prototype.then = () => {};
JSON.stringify = () => "forged";
Map.prototype.get = () => "forged";
String.prototype.left = 1;
Intl.DateTimeFormat = null;
console.log = () => {};
Symbol.iterator.description;
/(soiled)/.test("soiled");
class Late extends Error {}
globalThis.Error = Late;
return "soiled";
