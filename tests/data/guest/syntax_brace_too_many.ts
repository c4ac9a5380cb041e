if (true) {
  console.log("once");
}
}
return 1;
