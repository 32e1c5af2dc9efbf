#!/usr/bin/env bash
# Shows Timelake at work: makes a lake in ./quickstart-lake, imports a year of hourly weather of New York's three airports
# into it, and asks it questions with SQL. `make quickstart` builds the command first and then runs this.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
cd "$ROOT"

LAKE=quickstart-lake
MARK=$LAKE/.made-by-quickstart
TIMELAKE=build/timelake

# show ARGS...: prints the command line as one would type it, runs it, and says how long it took.
show() {
    local start end
    printf '\n$ %s' "$TIMELAKE"
    local word
    for word in "$@"; do
        case $word in
        *[!A-Za-z0-9_./,-]*) printf ' "%s"' "$word" ;; # SQL: it has quotes of its own, but none of these
        *) printf ' %s' "$word" ;;
        esac
    done
    printf '\n'
    start=$(date +%s%N)
    "$TIMELAKE" "$@"
    end=$(date +%s%N)
    printf '[%d.%03d s]\n' $(((end - start) / 1000000000)) $(((end - start) / 1000000 % 1000))
}

main() {
    [ -x "$TIMELAKE" ] || die "$TIMELAKE is not there: run \`make quickstart\`"
    scripts/sample-data.sh
    if [ -e "$LAKE" ]; then
        [ -e "$MARK" ] || die "./$LAKE is there and was not made by this script; move it away first"
        rm -rf "$LAKE"
    fi
    mkdir "$LAKE" && touch "$MARK"

    echo "A year of hourly weather, three airports, one CSV file: 26,115 readings."
    show -w "$LAKE" import weather .deps/weather.csv --time-column time_hour --series-key origin --chunk month --null NA
    show -w "$LAKE" info weather
    show -w "$LAKE" sql "select origin, count(*) as readings, round(avg(temp), 1) as mean_temp, max(wind_gust) as max_gust from weather group by origin order by origin"
    show -w "$LAKE" sql "select time_bucket(interval '1 week', time_hour) as week, round(min(temp), 1) as min_temp, round(max(temp), 1) as max_temp from weather where origin = 'JFK' and time_hour >= '2013-07-01' and time_hour < '2013-08-01' group by week order by week"
    echo
    echo "The same file once more: every reading is known already, so nothing is counted twice."
    show -w "$LAKE" append weather .deps/weather.csv --null NA
    show -w "$LAKE" sql "select count(*) as readings, round(sum(temp), 2) as sum_temp, round(sum(humid), 2) as sum_humid from weather"
    show -w "$LAKE" latest weather
    echo
    echo "The lake is in ./$LAKE: Iceberg tables of Parquet files. Go on with:  $TIMELAKE -w $LAKE sql 'select * from weather limit 5'"
}

main
