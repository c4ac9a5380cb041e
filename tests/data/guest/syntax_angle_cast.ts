const x = <number>JSON.parse("1");
return x;
