throw new Error("the mark is no column");
