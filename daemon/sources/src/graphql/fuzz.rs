//! Random input for the readers of GraphQL schemas and documents.

mod graphql;
