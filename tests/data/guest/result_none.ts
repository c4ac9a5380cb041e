console.log("no return");
