import { add } from "./sum";

// TODO: read the numbers from somewhere
console.log(add(1, 2));
