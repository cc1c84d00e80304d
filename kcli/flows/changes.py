"""All changes by the kind of their documents: a new one needs a row here."""

import importlib
from typing import Any

from kcli.account.change import ChangeOf

CHANGES = {
    "AclCreate": "kcli.flows.acls.create:AclCreation",
    "AclDelete": "kcli.flows.acls.delete:AclDeletion",
    "Apply": "kcli.flows.resources.apply:Apply",
    "ApplyUndo": "kcli.flows.resources.undo:ApplyUndo",
    "AppReset": "kcli.flows.groups.app_reset:AppReset",
    "BrokerDrain": "kcli.flows.brokers.drain:BrokerDrain",
    "BrokerUnregister": "kcli.flows.brokers.unregister:BrokerUnregistration",
    "ConfigAlter": "kcli.flows.configs.alter:ConfigAlter",
    "ControllerAdd": "kcli.flows.quorum.voters:ControllerAddition",
    "ControllerRemove": "kcli.flows.quorum.voters:ControllerRemoval",
    "FeatureDowngrade": "kcli.flows.features.change:FeatureDowngrade",
    "FeatureUpgrade": "kcli.flows.features.change:FeatureUpgrade",
    "GroupDelete": "kcli.flows.groups.delete:GroupDeletion",
    "LeaderElection": "kcli.flows.leader_elections:LeaderElection",
    "LogDirMove": "kcli.flows.brokers.move_log_dir:LogDirMove",
    "LogDirRestore": "kcli.flows.brokers.move_log_dir:LogDirRestore",
    "MemberRemove": "kcli.flows.groups.remove_members:MemberRemoval",
    "MirrorGapAcceptance": "kcli.flows.mirror.job.accept_gaps:GapAcceptance",
    "MirrorReset": "kcli.flows.mirror.job.reset:PositionReset",
    "OffsetDelete": "kcli.flows.groups.delete_offsets:OffsetDeletion",
    "OffsetImport": "kcli.flows.transfer.change:OffsetImport",
    "OffsetRestore": "kcli.flows.groups.restore:OffsetRestore",
    "QuotaAlter": "kcli.flows.quotas.alter:QuotaAlteration",
    "Reassignment": "kcli.flows.reassign.run:ReassignmentRun",
    "ReassignmentCancel": "kcli.flows.reassign.cancel:ReassignmentCancel",
    "RegistryConfigAlter": "kcli.flows.registry.settings:CompatibilityChange",
    "RegistryModeAlter": "kcli.flows.registry.settings:ModeChange",
    "ReplicaRestore": "kcli.flows.reassign.restore:ReplicaRestore",
    "Rewind": "kcli.flows.rewind.change:OffsetsChange",
    "SchemaDelete": "kcli.flows.registry.delete:SchemaDeletion",
    "SchemaImport": "kcli.flows.registry.importing:SchemaImport",
    "SchemaRegister": "kcli.flows.registry.register:SchemaRegistration",
    "SchemaUndelete": "kcli.flows.registry.undelete:SchemaUndeletion",
    "TokenCreate": "kcli.flows.tokens.create:TokenCreation",
    "TokenExpire": "kcli.flows.tokens.expiry:TokenEnd",
    "TokenRenew": "kcli.flows.tokens.expiry:TokenRenewal",
    "TopicAlter": "kcli.flows.topics.alter:TopicAlter",
    "TopicCreate": "kcli.flows.topics.create:TopicCreation",
    "TopicDelete": "kcli.flows.topics.delete:TopicDeletion",
    "TopicRestore": "kcli.flows.topics.restore:TopicRestore",
    "TopicTrim": "kcli.flows.topics.trim:TopicTrim",
    "TransactionAbort": "kcli.flows.transactions.abort:TransactionAbort",
    "UserDelete": "kcli.flows.users.delete:UserDeletion",
    "UserSet": "kcli.flows.users.set:UserSetting",
}
"""The class of each kind, which is imported when it is needed."""


def change_class(kind: str) -> type[ChangeOf[Any, Any, Any]]:
    """The class of a kind."""
    module, _, name = CHANGES[kind].partition(":")
    found: type[ChangeOf[Any, Any, Any]] = getattr(importlib.import_module(module), name)
    return found
