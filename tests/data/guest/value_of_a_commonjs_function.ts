module.exports = async ({ input }) => ({ total: input ?? 3 });
