// must: error syntax
import source wasm from "file:///x.wasm";
return wasm;
