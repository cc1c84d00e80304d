"""A scripted Kafka cluster for fault tests. ``cluster.py`` lists its knobs; in a test it is a fixture:

    @pytest.fixture
    def cluster():
        with FakeCluster(3, topics={"t": 2}) as made:
            yield made

    def test_a_lost_answer_makes_no_duplicate(cluster):
        cluster.swallow(ProduceRequest, "reset")
        with Producer(bootstrap_servers=cluster.bootstrap) as producer:
            producer.send(ProducerRecord("t", b"one", partition=0)).result(120)
        assert cluster.log("t").values() == [b"one"]
        assert len(cluster.seen(ProduceRequest)) == 2

Leaving the ``with`` block raises what went wrong inside the fake itself, so that its bugs are not taken for the client's.
"""
