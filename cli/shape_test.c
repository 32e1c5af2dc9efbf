/* Which statements are taken for a shape, and which must not be. */
#include <cmocka.h>
#include <string.h>

#include "cli/shape.h"

static tl_shape of(const char *sql) {
    tl_shape shape;
    tl_shape_of(tl_bytes_of(sql), &shape);
    return shape;
}

static void counts(void **state) {
    static const char *const yes[] = {"select count(*) from r", "SELECT COUNT( * )  FROM a.r;",
                                      "select count(*) n from r x",
                                      "select count(*) as \"N N\" from timelake.a.\"r\" -- all\n ; "};
    static const char *const no[] = {"select count(*) from r where a = 1 or b",
                                     "select count(*) from r, s",
                                     "select count(a) from r",
                                     "select count(*) from r limit 0",
                                     "select count(*), 1 from r",
                                     "select count(*) from r join s",
                                     "select count(*) from r tablesample 1%",
                                     "select count(*) from r union all select 1",
                                     "select distinct count(*) from r",
                                     "with r as (select 1) select count(*) from r",
                                     "explain select count(*) from r",
                                     "select count(*) from r group by a",
                                     "select count(*) from r /* */",
                                     "select count(*) filter (a) from r",
                                     "select count(*) over () from r",
                                     "select count(*) + 1 from r",
                                     "select count(*) from r; select 1",
                                     "select count(*) from 'r'",
                                     "select count(*) from r()",
                                     "select count(*) from r at (version => 1)",
                                     "select count(*) from only r x y",
                                     ""};
    for (size_t i = 0; i < TL_COUNT(yes); i++) {
        assert_int_equal(of(yes[i]).kind, TL_SHAPE_COUNT);
    }
    for (size_t i = 0; i < TL_COUNT(no); i++) {
        assert_int_not_equal(of(no[i]).kind, TL_SHAPE_COUNT);
    }
    tl_shape s = of(yes[3]);
    assert_string_equal(s.alias.text, "N N");
    assert_int_equal(s.n_table, 3);
    assert_string_equal(s.table[2].text, "r");
}

static void newest_and_latest(void **state) {
    tl_shape s = of("select m, x.t from r x order by t desc limit 10");
    assert_int_equal(s.kind, TL_SHAPE_NEWEST);
    assert_int_equal(s.limit, 10);
    assert_string_equal(s.order.text, "t");
    s = of("select * from r qualify row_number() over (partition by m, \"n\" order by t desc) = 1 order by v limit 3");
    assert_int_equal(s.kind, TL_SHAPE_LATEST);
    assert_int_equal(s.n_keys, 2);
    assert_string_equal(s.keys[1].text, "n");
    assert_int_equal(of("explain analyze select * from r order by t desc limit 1").kind, TL_SHAPE_NEWEST);
    static const char *const no[] = {
        "select v as t from r order by t desc limit 10",
        "select max(t) from r order by t desc limit 1",
        "select * from r order by t desc limit 10 offset 2",
        "select * from r order by t limit 10",
        "select * from r order by t desc",
        "select distinct m from r order by t desc limit 10",
        "select * from r where v > 1 order by t desc limit 10",
        "select * from r order by t desc, v limit 10",
        "select * from r order by t desc limit 10 %",
        "select * from r qualify row_number() over (partition by m order by t desc) = 2",
        "select * from r qualify row_number() over (partition by m order by t desc) = 1 or true",
        "select * from r qualify row_number() over (partition by m order by t) = 1",
        "select * from r qualify row_number() over (partition by m order by t desc) = 1 order by (select 1 from r)",
        "select * from r where v = 1 qualify row_number() over (partition by m order by t desc) = 1",
        "select * from r qualify rank() over (partition by m order by t desc) = 1"};
    for (size_t i = 0; i < TL_COUNT(no); i++) {
        tl_shape_kind kind = of(no[i]).kind;
        assert_true(kind == TL_SHAPE_OTHER || kind == TL_SHAPE_WHERE);
    }
}

static void conditions(void **state) {
    tl_shape s = of("select avg(v) from r where t >= timestamptz '2025-01-01' and t < '2025-01-02'::timestamp and (a "
                    "or b) and m = 'x''y' "
                    "and v + 1 > '3' group by all");
    assert_int_equal(s.kind, TL_SHAPE_WHERE);
    assert_int_equal(s.n_terms, 3);
    assert_string_equal(s.terms[0].op, ">=");
    assert_string_equal(s.terms[1].value.text, "2025-01-02");
    assert_string_equal(s.terms[2].value.text, "x'y");
    s = of("select * from r where t between timestamp with time zone 'a' and date 'b' and z order by 1");
    assert_int_equal(s.n_terms, 2);
    assert_string_equal(s.terms[1].op, "<=");
    s = of("select v as t, w m from r where t > 'x'");
    assert_int_equal(s.n_renamed, 2);
    static const char *const no[] = {"select * from r where t > 'x' or m = 'y'",
                                     "select * from r where not t > 'x'",
                                     "select * from r where t > 'x' and m = 'y' or true",
                                     "select * from r where t > 'x' and left(m, 1) = 'a' or z",
                                     "select * from r, s where t > 'x'",
                                     "select * from r join s using (m) where t > 'x'",
                                     "select * from r where t > 'x' union select * from r",
                                     "select (select count(*) from r) from r where t > 'x'",
                                     "select * from r where t > (select max(t) from r)",
                                     "select * from r where case when t > 'x' then true end",
                                     "select * from r where t > 'x' + interval 1 day",
                                     "select * from r where t > 'x' is null",
                                     "select * from r where t = all (table r)",
                                     "select * from r where t > $1",
                                     "select * from (select 1) where t > 'x'",
                                     "select * from r where t not between 'a' and 'b'",
                                     "select * from r where t > e'x'",
                                     "select * from r where t between 'a' and 'b' or t > 'x'",
                                     "select a: t from r where t > 'x'",
                                     "select * from r where t > 'x' > true"};
    for (size_t i = 0; i < TL_COUNT(no); i++) {
        if (of(no[i]).kind != TL_SHAPE_OTHER) {
            fail_msg("%s", no[i]);
        }
    }
}

static void any_bytes(void **state) {
    static const char *const pieces[] = {"select", " ",     "count(*)", "from", "r",     "where",  "t", ">",
                                         "'x'",    "and",   "or",       "(",    ")",     "\"",     "'", ",",
                                         "*",      "order", "by",       "desc", "limit", "1",      ".", "between",
                                         "--",     "\n",    "::",       ";",    "\xff",  "explain"};
    uint64_t seed = 7;
    for (int run = 0; run < 20000; run++) {
        char text[512] = "select ";
        for (int n = 0; n < 20; n++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            (void)strcat(text, pieces[(seed >> 33) % TL_COUNT(pieces)]);
            (void)strcat(text, " ");
        }
        (void)of(text); /* does not crash, and ends */
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(counts), cmocka_unit_test(newest_and_latest),
                                       cmocka_unit_test(conditions), cmocka_unit_test(any_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
