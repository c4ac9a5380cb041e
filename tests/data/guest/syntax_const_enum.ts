const enum Color { Red = "r" }
return Color.Red;
