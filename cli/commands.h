/* The commands, one per row of the table in main.c; each stands in the file named after it. */
#ifndef TL_CLI_COMMANDS_H
#define TL_CLI_COMMANDS_H

#include "cli/cli.h"

extern const tl_command tl_command_create;   /* cmd_create.c */
extern const tl_command tl_command_append;   /* cmd_append.c */
extern const tl_command tl_command_upsert;   /* cmd_upsert.c */
extern const tl_command tl_command_import;   /* cmd_create.c */
extern const tl_command tl_command_sql;      /* cmd_sql.c */
extern const tl_command tl_command_latest;   /* cmd_latest.c */
extern const tl_command tl_command_arrivals; /* cmd_arrivals.c */
extern const tl_command tl_command_info;     /* cmd_info.c */
extern const tl_command tl_command_ls;       /* cmd_tables.c */
extern const tl_command tl_command_drop;     /* cmd_tables.c */
extern const tl_command tl_command_index;    /* cmd_tables.c */
extern const tl_command tl_command_settings; /* cmd_settings.c */
extern const tl_command tl_command_alter;    /* cmd_settings.c */
extern const tl_command tl_command_rollback; /* cmd_settings.c */
extern const tl_command tl_command_duckdb;   /* cmd_duckdb.c */
extern const tl_command tl_command_maintain; /* cmd_maintain.c */
extern const tl_command tl_command_check;    /* cmd_check.c */
extern const tl_command tl_command_upgrade;  /* cmd_upgrade.c */
extern const tl_command tl_command_version;  /* cmd_version.c */
extern const tl_command tl_command_help;     /* cmd_version.c */

#endif
