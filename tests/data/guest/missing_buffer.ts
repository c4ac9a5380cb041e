return Buffer.from("x").toString("hex");
