const sum = 3;
console.log(sum);
{ sum }
