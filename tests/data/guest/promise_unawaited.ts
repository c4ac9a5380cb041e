const fail = async () => { throw new Error("nobody looked"); };
fail();
return "done";
