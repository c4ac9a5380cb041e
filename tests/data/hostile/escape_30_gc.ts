// must: result ["undefined","undefined"]
return [typeof gc, typeof d8];
