//! PostgreSQL: any number of servers on one database.
