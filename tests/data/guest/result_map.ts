return new Map([["a", 1]]);
