setTimeout(() => console.log("never"), 60_000);
return "the timer is forgotten";
