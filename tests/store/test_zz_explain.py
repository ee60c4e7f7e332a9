import sqlalchemy as sa
from samples import prompt, memory
import ovstore

def test_plan(store):
    for i in range(60):
        store.publish(prompt(template=f"{i} {{{{q}}}}"), tenant=f"t{i%7}", actor="x")
    seen = []
    eng = store._database._engine
    def on(conn, cur, stmt, params, ctx, many): seen.append((stmt, params))
    sa.event.listen(sa.Engine, "before_cursor_execute", on)
    for f in ({"field":"template"}, {"field":"template","tenant":"t3"}, {"field":"template","key":"semantic.note","since":__import__("datetime").datetime(2020,1,1,tzinfo=__import__("datetime").timezone.utc)}, {"tenant":"t3"}, {"key":"semantic.note"}, {"actor":"x"}):
        seen.clear(); list(store.audit(**f)); got=list(seen)
        print("=====", f, len(got))
        with store._database.read() as conn:
            for stmt, params in got:
                if stmt.startswith("SAVE") : continue
                if store._database.dialect == "sqlite":
                    rows = [r[3] for r in conn.exec_driver_sql("EXPLAIN QUERY PLAN "+stmt, params)]
                else:
                    conn.exec_driver_sql("set local enable_seqscan=off"); conn.exec_driver_sql("set local enable_bitmapscan=off"); conn.exec_driver_sql("set local enable_hashjoin=off"); conn.exec_driver_sql("set local enable_mergejoin=off")
                    rows = [r[0] for r in conn.exec_driver_sql("EXPLAIN "+stmt, params)]
                print(stmt[:60].replace("\n"," ")); print("\n".join("     "+r for r in rows))
    sa.event.remove(sa.Engine, "before_cursor_execute", on)
