return { fine: 1, get broken() { throw new Error("in a getter"); } };
