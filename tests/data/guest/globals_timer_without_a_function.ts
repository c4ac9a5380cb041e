setTimeout("console.log(1)", 0);
