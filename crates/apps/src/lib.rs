//! The roles: server, player, bulk sender and receiver.
