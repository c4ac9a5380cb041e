// An error whose causes run in a circle is told to the end of its patience.
// must: error runtime
// says: round
const error = new Error("round");
error.cause = new AggregateError([error, new Error("and round", { cause: error })], "about");
throw error;
