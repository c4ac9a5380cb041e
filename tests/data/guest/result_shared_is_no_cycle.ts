const shared = { a: 1 };
return [shared, shared, { shared }];
