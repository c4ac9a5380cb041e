const total = 1;
export { total } from "a";
