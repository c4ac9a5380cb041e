//! Random input for the reader of OpenAPI descriptions.

mod openapi;
