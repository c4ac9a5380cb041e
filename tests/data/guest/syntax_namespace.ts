namespace Colors { export const red = 1 }
return Colors.red;
