})(); (async () => { return 7;
