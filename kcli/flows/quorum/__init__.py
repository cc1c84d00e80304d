"""The quorum of the controllers (KRaft) as commands show and change it."""
