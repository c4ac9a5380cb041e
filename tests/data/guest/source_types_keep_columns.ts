const list: Array<{ id: number; tags?: readonly string[] }> = [{ id: 1 }]; const x: number = list[0]!.tags!.length;
return x;
