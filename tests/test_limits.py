"""Gates: fair, and nobody who is gone keeps a place."""

import asyncio
import gc
import itertools
import os
import threading
from contextlib import suppress

import pytest

from deep_research import limits
from deep_research.limits import Gate, Gates


async def turns(count=5):
    for _ in range(count):
        await asyncio.sleep(0)


def test_no_more_than_so_many_are_inside_and_they_come_in_the_order_of_asking():
    gate, order, most = Gate(2), [], 0

    async def visit(number):
        nonlocal most
        async with gate.entered():
            most = max(most, gate.inside)
            order.append(number)
            await turns()

    async def all_of_them():
        await asyncio.gather(*(visit(number) for number in range(20)))

    asyncio.run(all_of_them())
    assert (most, order, gate.inside) == (2, list(range(20)), 0)


def test_who_comes_while_others_wait_does_not_get_ahead():
    async def unit():
        gate, order = Gate(1), []

        async def visit(number):
            async with gate.entered():
                order.append(number)

        async with gate.entered():
            waiting = [asyncio.create_task(visit(number)) for number in range(3)]
            await turns()
        late = asyncio.create_task(visit(3))  # the place is free, but called for
        await asyncio.gather(*waiting, late)
        return order

    assert asyncio.run(unit()) == [0, 1, 2, 3]


@pytest.mark.parametrize("moment", ["waiting", "called"])
def test_who_is_cancelled_while_waiting_leaves_the_place_to_the_next(moment):
    async def unit():
        gate, order = Gate(1), []

        async def visit(number):
            async with gate.entered():
                order.append(number)

        async with gate.entered():
            tasks = [asyncio.create_task(visit(number)) for number in range(3)]
            await turns()
            if moment == "waiting":
                tasks[0].cancel()
        if moment == "called":
            tasks[0].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return order, gate.inside, gate.waiting

    assert asyncio.run(unit()) == ([1, 2], 0, 0)


def test_who_raises_inside_leaves():
    async def unit():
        gate = Gate(1)
        with suppress(KeyError):
            async with gate.entered():
                raise KeyError
        async with gate.entered():
            return gate.inside

    assert asyncio.run(unit()) == 1


@pytest.mark.timed
def test_the_places_of_a_loop_that_died_are_taken_back():
    gate = Gate(1)
    dead = asyncio.new_event_loop()
    visits = []

    async def stay():
        async with gate.entered():
            await asyncio.Event().wait()

    visits.append(stay())
    task = dead.create_task(visits[0])
    dead.run_until_complete(turns())
    assert gate.inside == 1
    dead.close()

    async def visit():
        async with asyncio.timeout(300), gate.entered():
            return gate.inside

    assert asyncio.run(visit()) == 1
    task._log_destroy_pending = False
    del task
    visits.clear()
    gc.collect()
    assert gate.inside == 0


@pytest.mark.timed
def test_who_waits_finds_out_that_the_loop_inside_died(monkeypatch):
    monkeypatch.setattr(limits, "LOOK_AGAIN_SECONDS", 0.01)
    gate, dead = Gate(1), asyncio.new_event_loop()
    entered = gate.entered()
    dead.run_until_complete(entered.__aenter__())

    async def visit():
        async with asyncio.timeout(300), gate.entered():
            return True

    async def unit():
        task = asyncio.create_task(visit())
        await turns()
        assert gate.waiting == 1
        dead.close()
        return await task

    assert asyncio.run(unit())


@pytest.mark.timed
def test_a_waiter_whose_loop_died_is_passed_over():
    gate = Gate(1)

    def wait_and_die():
        loop = asyncio.new_event_loop()
        task = loop.create_task(gate.entered().__aenter__())
        loop.run_until_complete(turns())
        task._log_destroy_pending = False
        loop.close()

    async def unit():
        async with gate.entered():
            thread = threading.Thread(target=wait_and_die)
            thread.start()
            thread.join()
        async with asyncio.timeout(300), gate.entered():
            return gate.inside, gate.waiting

    assert asyncio.run(unit()) == (1, 0)


@pytest.mark.timed
def test_threads_share_a_gate():
    gate, most, inside = Gate(3), 0, 0
    lock = threading.Lock()

    async def visit():
        nonlocal most, inside
        async with gate.entered():
            with lock:
                inside += 1
                most = max(most, inside)
            await turns(2)
            with lock:
                inside -= 1

    async def visits():
        await asyncio.gather(*(visit() for _ in range(50)))

    threads = [threading.Thread(target=lambda: asyncio.run(visits())) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert (gate.inside, gate.waiting) == (0, 0)
    assert 1 <= most <= 3


def test_a_pause_keeps_everybody_out_until_it_is_over(time):
    gate = Gate(4, clock=time, sleep=time.sleep)
    gate.pause(7)
    gate.pause(3)

    async def visit():
        async with gate.entered():
            return time.now

    async def unit():
        return await asyncio.gather(*(visit() for _ in range(3)))

    began = time.now
    assert all(moment >= began + 7 for moment in asyncio.run(unit()))


def test_entries_are_spaced_evenly_and_nobody_is_overtaken(time):
    gate = Gate(4, per_minute=30, clock=time, sleep=time.sleep)
    entered = []

    async def visit(number):
        async with gate.entered():
            entered.append((number, time.now))

    async def unit():
        await asyncio.gather(*(visit(number) for number in range(12)))

    asyncio.run(unit())
    assert [number for number, _ in entered] == list(range(12))
    moments = [moment for _, moment in entered]
    assert all(later - earlier >= 2.0 for earlier, later in itertools.pairwise(moments))


def test_who_wakes_late_keeps_the_turn(time):
    gate = Gate(3, per_minute=60, clock=time)
    first, second, newcomer = (limits.Place(asyncio.new_event_loop(), None) for _ in range(3))
    assert gate._turn(limits.Place(first.loop, None)) == 0
    assert gate._turn(first) == 1
    assert gate._turn(second) == 2
    time.now += 1.5  # the first should have gone by now
    assert gate._turn(newcomer) > 0
    assert gate._turn(second) > 0
    assert gate._turn(first) == 0
    for place in (first, second, newcomer):
        place.loop.close()


def test_who_is_cancelled_while_waiting_for_the_moment_leaves_the_line():
    async def hang(_seconds):
        await asyncio.Event().wait()

    async def unit():
        gate = Gate(3, per_minute=60, clock=lambda: 5.0, sleep=hang)

        async def visit():
            async with gate.entered():
                pass

        await visit()
        tasks = [asyncio.create_task(visit()) for _ in range(2)]
        await turns()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return gate.inside, len(gate._line)

    assert asyncio.run(unit()) == (0, 0)


def test_gates_are_one_per_name_and_take_the_limits_given_last():
    gates = Gates()
    gate = gates.gate("a", at_once=1)

    async def unit():
        async with gate.entered():
            other = asyncio.create_task(enter())
            await turns()
            assert gate.waiting == 1
            assert gates.gate("a", at_once=2, per_minute=None) is gate
            await other  # there is room for two now

    async def enter():
        async with gate.entered():
            pass

    asyncio.run(unit())
    assert gates.gate("b", at_once=1) is not gate


@pytest.mark.parametrize(("at_once", "per_minute"), [(0, None), (-1, None), (1, 0), (1, -3.0)])
def test_a_gate_that_lets_nobody_in_is_refused(at_once, per_minute):
    with pytest.raises(ValueError, match="at least one"):
        Gate(at_once, per_minute)


def test_in_a_child_process_nobody_is_inside_even_if_the_lock_was_held():
    gates = Gates()
    gate = gates.gate("a", at_once=1)

    async def unit():
        async with gate.entered():
            gate._lock.acquire()
            gates._lock.acquire()
            pid = os.fork()
            if pid == 0:
                gates.renew()
                ok = gate.inside == 0 and gates.gate("a", at_once=1) is gate
                os._exit(0 if ok else 1)
            gate._lock.release()
            gates._lock.release()
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    assert asyncio.run(unit()) == 0


def test_after_a_rest_so_many_may_come_together_and_then_evenly_spaced(time):
    gate, entered = Gate(8, 60, clock=time, sleep=time.sleep, burst=3), []

    async def visit():
        async with gate.entered():
            entered.append(time.now - 1_000.0)

    async def all_of_them():
        for _ in range(6):
            await visit()

    asyncio.run(all_of_them())
    assert [round(at) for at in entered] == [0, 0, 0, 1, 2, 3]
    time.now += 60
    entered.clear()
    asyncio.run(all_of_them())
    assert [round(at - entered[0]) for at in entered] == [0, 0, 0, 1, 2, 3]


def test_a_pause_holds_for_a_burst_too(time):
    gate = Gate(8, 60, clock=time, sleep=time.sleep, burst=5)
    gate.pause(7)

    async def visit():
        async with gate.entered():
            return time.now - 1_000.0

    assert asyncio.run(visit()) >= 7
