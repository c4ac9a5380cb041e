const run = async () => 3;
export { run as default };
