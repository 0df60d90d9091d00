"""The routes on which an admin uploads and removes corpora."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Iterable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response
from pydantic import BaseModel
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException

from deep_research.errors import UsageError
from deep_research.research.operations import Right
from deep_research.server.access import SCHEMES, service_of, user_with
from deep_research.server.corpus_uploads import MAX_FILES, File, delete_corpus, files_in, put_corpus
from deep_research.server.problem_responses import PROBLEMS
from deep_research.server.problems import RequestRefused
from deep_research.server.request_gate import ZIP_TYPES
from deep_research.server.routes import model_response
from deep_research.server.users import User

PATH = "/v1/corpora/{name}"
_Admin = Annotated[User, Depends(user_with(Right.ADMIN))]
_FORM = {
    "type": "object",
    "properties": {"files": {"type": "array", "items": {"type": "string", "format": "binary"}}},
}
_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/zip": {"schema": {"type": "string", "format": "binary"}},
            "multipart/form-data": {"schema": _FORM},
        },
    }
}


class StoredCorpus(BaseModel):
    """A corpus as it was stored."""

    name: str
    files: int
    bytes: int


def upload_routes() -> APIRouter:
    router = APIRouter(dependencies=list(SCHEMES), responses=PROBLEMS)
    router.add_api_route(
        PATH,
        put,
        methods=["PUT"],
        response_model=StoredCorpus,
        operation_id="put_corpus",
        openapi_extra=_BODY,
    )
    router.add_api_route(PATH, delete, methods=["DELETE"], status_code=204, operation_id="delete_corpus")
    return router


async def put(request: Request, _: _Admin, name: str) -> Response:
    """Store documents under a name that runs may choose: the files of a form, or one zip archive. What was stored under
    it is replaced."""
    service = service_of(request)
    async with service.uploading:
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        files: Iterable[File] = (
            files_in(io.BytesIO(await request.body())) if kind in ZIP_TYPES else await _of_form(request)
        )
        settings = service.engine.settings.settings
        count, size = await asyncio.to_thread(put_corpus, settings, name, files)
    return await model_response(StoredCorpus(name=name, files=count, bytes=size))


async def delete(request: Request, _: _Admin, name: str) -> Response:
    """Remove an uploaded corpus. Runs that have read it keep what they saved."""
    settings = service_of(request).engine.settings.settings
    if not await asyncio.to_thread(delete_corpus, settings, name):
        raise RequestRefused(404, "corpus_not_found", "There is no uploaded corpus of that name.")
    return Response(status_code=204)


async def _of_form(request: Request) -> list[File]:
    """The files of a form. Raises `UsageError`."""
    try:
        async with request.form(max_files=MAX_FILES + 1, max_fields=10) as form:
            uploads = [
                each for key in set(form) for each in form.getlist(key) if isinstance(each, UploadFile)
            ]
            return [(each.filename or "", await each.read()) for each in uploads]
    except (MultiPartException, HTTPException) as error:
        if isinstance(error, RequestRefused):
            raise
        raise UsageError("The form cannot be read.", hint="Send files as multipart/form-data.") from None
