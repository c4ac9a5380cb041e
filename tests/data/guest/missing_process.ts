return process.env.HOME;
