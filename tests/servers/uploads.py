"""An API of FastAPI that takes files in every way and answers with what arrived: `uploads.py PORT`.

Its description is `/openapi.json`, as FastAPI makes it."""

import sys
from typing import Annotated

import uvicorn
from fastapi import FastAPI, File, Form, UploadFile
from fastapi.middleware.gzip import GZipMiddleware

app = FastAPI(title="uploads", version="1")
app.add_middleware(GZipMiddleware, minimum_size=0)


async def seen(file: UploadFile | None):
    if file is None:
        return None
    content = await file.read()
    return {"name": file.filename, "type": file.content_type, "text": content.decode()}


@app.post("/one", operation_id="one")
async def one(file: UploadFile):
    return await seen(file)


@app.post("/optional", operation_id="optional")
async def optional(file: UploadFile | None = None):
    return await seen(file)


@app.post("/several", operation_id="several")
async def several(files: list[UploadFile]):
    return [await seen(file) for file in files]


@app.post("/some", operation_id="some")
async def some(files: list[UploadFile] | None = None):
    return [await seen(file) for file in files or []]


@app.post("/raw", operation_id="raw")
async def raw(data: Annotated[bytes, File()]):
    return data.decode()


@app.post("/maybe", operation_id="maybe")
async def maybe(data: Annotated[bytes | None, File()] = None):
    return None if data is None else data.decode()


@app.post("/mixed", operation_id="mixed")
async def mixed(note: Annotated[str, Form()], file: UploadFile, tags: Annotated[list[str], Form()] = []):
    return {"note": note, "tags": tags, "file": await seen(file)}


@app.get("/things", operation_id="things")
async def things(offset: int = 0, limit: int = 3) -> list[int]:
    return list(range(offset, min(offset + limit, 8)))


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]))
