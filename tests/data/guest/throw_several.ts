await Promise.any([Promise.reject(new Error("first")), Promise.reject(new RangeError("second"))]);
