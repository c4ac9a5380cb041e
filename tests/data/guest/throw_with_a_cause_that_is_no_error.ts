throw new TypeError("wrong", { cause: "because" });
