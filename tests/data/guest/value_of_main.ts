const GREETING = "hello";

async function main(): Promise<string> {
  return GREETING;
}

function helper() {
  return 1;
}
