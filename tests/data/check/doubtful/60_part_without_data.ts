// mistake: line 6, column 10: an image needs `data`, not `base64`
// says: data
const picture = btoa("a picture, in some way");
const label = await mux.everything.echo({ message: "the chart" });
mux.emit({ type: "text", text: label });
mux.emit({ type: "image", mimeType: "image/png", base64: picture });
return label;
